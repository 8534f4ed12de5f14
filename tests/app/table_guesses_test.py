#!/usr/bin/env python3
"""What import-csv guesses about a text table: whether its first line names the columns, which columns are features and which is the
label. It says what it took, and where two readings are equally likely it asks."""

import unittest

from import_case import ImportTest

ROWS = [(0.37, -1.62, 0.48), (1.05, 0.21, -0.84), (-0.73, 0.96, 2.17), (0.16, -0.35, 1.43), (2.64, 1.08, -0.51), (-1.27, 0.62, 0.09),
        (0.81, -0.94, -1.36), (0.55, 1.71, 0.28)]
KINDS = ("iris", "rose")


class Tables(ImportTest):
    def table(self, head: str = "", label=lambda i: KINDS[i % 2], row=lambda i, x: [*x], separator: str = ",", end: str = "\n"):
        lines = [separator.join(map(str, [*row(i, x), label(i)])) for i, x in enumerate(ROWS)]
        (self.own / "own.csv").write_text(head + end.join(lines) + end)
        return self.own / "own.csv"

    def said(self, path, *more) -> list[str]:
        done = self.imported("import-csv", path, *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_columns_labels_and_classes_are_named(self):
        said = self.said(self.table("a,b,c,species\n"))
        self.assertIn("columns: named in line 1; features a, b, c; label species", said)
        self.assertIn("classes: iris (4), rose (4)", said)
        self.assertIn("features: 3, float32 from -1.62 to 2.64", said)
        self.assertIn("columns: not named; features 1, 2, 3; label 4", self.said(self.table(label=lambda i: i % 2)))
        self.assertIn("columns: named in line 1; features a, c; targets b", self.said(self.table("a,b,c,d\n", label=lambda i: i * i), "--targets", "b", "--leave-out", "d"))

    def test_a_header_of_numbers_is_asked_for_and_either_answer_is_taken(self):
        numeric = lambda i: i % 2
        for name, head, label in (
            ("pandas, text labels", "0,1,2,species\n", None), ("years", "2019,2020,2021,species\n", None), ("irregular years", "1990,2004,2013,kind\n", None),
            ("text labels, decimals", "0.5,1.7,9.3,species\n", None), ("a number over texts", "0.4,2,1,7\n", None), ("pandas", "0,1,2,3\n", numeric), ("from one", "1,2,3,4\n", numeric),
            ("years and numbers", "2019,2020,2021,2022\n", numeric), ("wavelengths", "400,410,420,430\n", numeric), ("decimals", "1.0,2.0,3.0,4.0\n", numeric),
            ("far away", "1990,2004,2013,1\n", numeric), ("a word among numbers", "0,1,2,species\n", numeric), ("quoted", '"0","1","2","3"\n', numeric),
        ):
            for separator in (",", ";", "\t"):
                with self.subTest(name, separator=separator):
                    path = self.table(head.replace(",", separator), separator=separator, **({"label": label} if label else {}))
                    self.refused("import-csv", path, "line 1", "--header")
                    self.assertIn("8 training", self.said(path, "--header", "yes")[0])
                    self.assertIn("9 training", self.said(path, "--header", "no")[0])
        for head in ("2019,2020,price\n", "2019,2020,2021\n"):
            (self.own / "own.csv").write_text(head + "".join(f"{a},{b},{c}\n" for a, b, c in ROWS))
            self.refused("import-csv", self.own / "own.csv", "line 1", "--header", more=("--targets", 3))
        self.refused("import-csv", self.table("NA,NA,?,species\n"), "line 1", "no values", "--header")

    def test_tables_without_a_header_need_no_answer(self):
        self.assertIn("8 training", self.said(self.table())[0])
        self.assertIn("8 training", self.said(self.table(label=lambda i: i % 2))[0])
        self.assertIn("8 training", self.said(self.table(row=lambda i, x: [i, i + 3 * (i > 0), 7], label=lambda i: i % 3))[0])

    def test_a_column_without_a_name_is_no_feature_unasked(self):
        for head in (",a,b,c,species\n", "Unnamed: 0,a,b,c,species\n", '"",a,b,c,species\n'):
            with self.subTest(head):
                path = self.table(head, row=lambda i, x: [i, *x])
                self.refused("import-csv", path, "column 1", "--leave-out 1")
                said = self.said(path, "--leave-out", 1)
                self.assertTrue(any(line.startswith("left out: columns ") for line in said))
                self.assertIn("of 3 features", said[0])
        self.refused("import-csv", self.table(",0,1,2,species\n", row=lambda i, x: [i, *x]), "--header")
        self.refused("import-csv", self.table("a,b,c,species\n", row=lambda i, x: [i + 1, *x]), "line 2", "5 fields", "row names", "R")
        said = self.said(self.table("id,a,b,c,species\n", row=lambda i, x: [i + 100, *x]))
        self.assertIn("warning: feature id counts the samples, as the index of a table does: is it one of their features?", said)
        self.assertIn("warning: feature 1 counts", "\n".join(self.said(self.table(row=lambda i, x: [i, *x]))))

    def test_columns_are_left_out_by_name_or_number(self):
        with_names = lambda: self.table("name,a,b,c,species\n", row=lambda i, x: [f"person {i}", *x])
        path = with_names()
        by_name = self.content("import-csv", path, "--leave-out", "name")
        self.assertEqual(by_name, self.content("import-csv", path, "--leave-out", 1, "--header", "yes"))
        self.assertEqual(by_name, self.content("import-csv", self.table()))
        self.assertIn("label c", "\n".join(self.said(self.table("a,b,c,species\n", row=lambda i, x: [*x[:2], i % 2]), "--leave-out", "species")))
        path = with_names()
        self.refused("import-csv", path, "no column 'age'", more=("--leave-out", "age"))
        self.refused("import-csv", path, "both name column 5", more=("--leave-out", 5, "--label", 5))
        self.refused("import-csv", path, "twice", more=("--leave-out", "1,1"))
        self.refused("import-csv", path, "all columns", more=("--leave-out", "1,2,3,4,5"))
        self.refused("import-csv", path, "no features", more=("--leave-out", "1,2,3,4"))

    def test_a_number_that_is_the_name_of_another_column_is_a_number(self):
        said = self.said(self.table("0,1,2,3\n", label=lambda i: i % 2, row=lambda i, x: [*x[:2], i % 3]), "--header", "yes", "--label", 3)
        self.assertIn("warning: --label 3 is the column with this number, '2', not the one called '3'", said)
        self.assertIn("3 classes", said[0])

    def test_a_missing_label_is_a_class_only_if_that_is_said(self):
        for word in ("NA", "N/A", "n/a", "?", "null", "NULL", "None", "-", "<NA>", "nan", "NaN", "#N/A", "NaT", "n.a.", "#DIV/0!", "\\N", "missing"):
            for kinds in (KINDS, (0, 1)):
                with self.subTest(word, kinds=kinds):
                    path = self.table("a,b,c,species\n", label=lambda i: word if i == 7 else kinds[i % 2])
                    self.refused("import-csv", path, "column 4 ('species') in line 9", f"'{word}'", "--missing-labels")
                    said = self.said(path, "--missing-labels", "leave-out")
                    self.assertIn("7 training", said[0])
                    self.assertIn("2 classes", said[0])
                    self.assertIn("left out: 1 record without a label", said)
                    self.assertIn("3 classes", self.said(path, "--missing-labels", "class")[0])
        empty = self.table(label=lambda i: "" if i == 7 else KINDS[i % 2])
        self.refused("import-csv", empty, "column 4 in line 8", "missing")
        self.assertIn("7 training", self.said(empty, "--missing-labels", "leave-out")[0])
        self.refused("import-csv", empty, "missing", more=("--missing-labels", "class"))
        self.refused("import-csv", self.table(label=lambda i: "?"), "no record", more=("--missing-labels", "leave-out"))
        self.refused("import-csv", self.table(label=lambda i: i * i), "--missing-labels", "--targets", more=("--missing-labels", "class", "--targets", 4))

    def test_a_column_called_label_is_not_passed_over(self):
        for name in ("label", "Class", "target", "y"):
            path = self.table(f"{name},a,b,c\n", label=lambda i: 0, row=lambda i, x: [i % 3, *x[:2]])
            self.refused("import-csv", path, f"column '{name}'", "'c'", "--label")
            self.assertIn("3 classes", self.said(path, "--label", name)[0])
            self.assertIn("1 classes", self.said(path, "--label", "c")[0])
        path = self.table(label=lambda i: 0, row=lambda i, x: [i % 3, *x[:2]])
        self.assertIn("warning: all training samples have the same label: are these the labels?", self.said(path))

    def test_a_separator_at_the_end_of_lines_is_named(self):
        for head in ("", "a,b,c,species,\n"):
            path = self.table(head, end=",\n")
            self.refused("import-csv", path, "line 1", "ends with a separator", "--leave-out 5")
            self.assertIn("2 classes", self.said(path, "--leave-out", 5)[0])


if __name__ == "__main__":
    unittest.main()
