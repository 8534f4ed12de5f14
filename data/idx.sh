# Functions for the recipes in this folder (". data/idx.sh"), which convert checked IDX files to data/NAME.h5. Run from the root
# of the source. PARAGRAD is the program's path.
paragrad=${PARAGRAD:-build/paragrad}

fail() {
  echo "$1" >&2
  exit 2
}

# Whether the data file exists and is valid.
have() {
  [ -f "$1" ] && "$paragrad" data verify "$1" > /dev/null 2>&1
}

# check FOLDER FILE SHA256: compares the checksum of the raw file, which may be stored as FILE.gz.
check() {
  if [ -f "$1/$2" ]; then
    sum=$(sha256sum < "$1/$2")
  elif [ -f "$1/$2.gz" ]; then
    sum=$(gunzip -c "$1/$2.gz" | sha256sum)
  else
    fail "no $2 or $2.gz in $1"
  fi
  [ "${sum%% *}" = "$3" ] || fail "$1/$2 is not the original: its SHA-256 is ${sum%% *}, should be $3"
}
