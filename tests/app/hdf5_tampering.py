"""Changes HDF5 files behind the program's back, with the HDF5 library that it uses: objects become links to other files, or arrays whose
elements lie in other files."""

import ctypes
import ctypes.util
from pathlib import Path

HID, SIZE = ctypes.c_int64, ctypes.c_uint64
_name = ctypes.util.find_library("hdf5_serial") or ctypes.util.find_library("hdf5")
HDF5 = ctypes.CDLL(_name) if _name else None
READ_ONLY, READ_WRITE, DEFAULT = 0, 1, HID(0)


def _constant(name: str) -> HID:
    return HID.in_dll(HDF5, f"{name}_g")


def _call(function: str, *arguments, result=HID) -> int:
    called = getattr(HDF5, function)
    called.restype = result
    code = called(*arguments)
    if code < 0:
        raise RuntimeError(f"{function} failed")
    return code


class File:
    """An HDF5 file that is changed."""

    def __init__(self, path: Path):
        _call("H5open", result=ctypes.c_int)
        self.id = HID(_call("H5Fopen", str(path).encode(), READ_WRITE, DEFAULT))

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_) -> None:
        _call("H5Fclose", self.id, result=ctypes.c_int)

    def delete(self, name: str) -> None:
        _call("H5Ldelete", self.id, name.encode(), DEFAULT, result=ctypes.c_int)

    def external_link(self, name: str, file: str, target: str) -> None:
        """Puts a link to an object of another file in the place of an object."""
        self.delete(name)
        _call("H5Lcreate_external", file.encode(), target.encode(), self.id, name.encode(), DEFAULT, DEFAULT, result=ctypes.c_int)

    def soft_link(self, name: str, target: str) -> None:
        self.delete(name)
        _call("H5Lcreate_soft", target.encode(), self.id, name.encode(), DEFAULT, DEFAULT, result=ctypes.c_int)

    def link_beside(self, name: str, file: str, target: str) -> None:
        """Adds a link to an object of another file."""
        _call("H5Lcreate_external", file.encode(), target.encode(), self.id, name.encode(), DEFAULT, DEFAULT, result=ctypes.c_int)

    def external_elements(self, name: str, file: str) -> None:
        """Makes the elements of an array those of another file, from its beginning."""
        def external(properties: HID, kind: HID, shape: list[int], bytes_of_element: int) -> None:
            count = bytes_of_element
            for size in shape:
                count *= size
            _call("H5Pset_external", properties, file.encode(), ctypes.c_int64(0), SIZE(count), result=ctypes.c_int)

        self._again(name, external)

    def virtual_array(self, name: str, file: str, target: str) -> None:
        """Makes an array a virtual one, whose elements are those of an array of another file."""
        def virtual(properties: HID, kind: HID, shape: list[int], bytes_of_element: int) -> None:
            space = self._space(shape)
            _call("H5Pset_virtual", properties, space, file.encode(), target.encode(), space, result=ctypes.c_int)

        self._again(name, virtual)

    def texts_of_variable_length(self, name: str, values: list[bytes]) -> None:
        """Replaces an attribute of the file by texts in HDF5's global heap, as h5py writes them."""
        kind = HID(_call("H5Tcopy", _constant("H5T_C_S1")))
        _call("H5Tset_size", kind, ctypes.c_size_t(-1), result=ctypes.c_int)
        _call("H5Adelete", self.id, name.encode(), result=ctypes.c_int)
        attribute = HID(_call("H5Acreate2", self.id, name.encode(), kind, self._space([len(values)]), DEFAULT, DEFAULT))
        _call("H5Awrite", attribute, kind, (ctypes.c_char_p * len(values))(*values), result=ctypes.c_int)
        _call("H5Aclose", attribute, result=ctypes.c_int)

    def unwritten_array(self, name: str, shape: list[int]) -> None:
        """Gives an array another shape, and no elements."""
        self._again(name, lambda *_: None, shape)

    def of_type(self, name: str, kind: str) -> None:
        """Gives the elements of an array another type, such as H5T_NATIVE_DOUBLE."""
        self._again(name, lambda *_: None, kind=_constant(kind))

    def filtered(self, name: str, number: int) -> None:
        """Stores an array in chunks with a filter of this number, which need not exist."""
        def chunks(properties: HID, kind: HID, shape: list[int], bytes_of_element: int) -> None:
            _call("H5Pset_chunk", properties, len(shape), (SIZE * len(shape))(*shape), result=ctypes.c_int)
            optional = ctypes.c_uint(1)
            _call("H5Pset_filter", properties, ctypes.c_int(number), optional, ctypes.c_size_t(0), None, result=ctypes.c_int)

        self._again(name, chunks)

    def _space(self, shape: list[int]) -> HID:
        return HID(_call("H5Screate_simple", len(shape), (SIZE * len(shape))(*shape), None))

    def _again(self, name: str, change, new_shape: list[int] | None = None, kind: HID | None = None) -> None:
        """An array like the one of this name, in its place, with other properties."""
        old = HID(_call("H5Dopen2", self.id, name.encode(), DEFAULT))
        kind, space = kind or HID(_call("H5Dget_type", old)), HID(_call("H5Dget_space", old))
        shape = (SIZE * 8)()
        ranks = _call("H5Sget_simple_extent_dims", space, shape, None, result=ctypes.c_int)
        sizes = new_shape or list(shape[:ranks])
        bytes_of_element = _call("H5Tget_size", kind, result=ctypes.c_int64)
        properties = HID(_call("H5Pcreate", _constant("H5P_CLS_DATASET_CREATE_ID")))
        change(properties, kind, sizes, bytes_of_element)
        self.delete(name)
        made = HID(_call("H5Dcreate2", self.id, name.encode(), kind, self._space(sizes), DEFAULT, properties, DEFAULT))
        _call("H5Dclose", made, result=ctypes.c_int)
        _call("H5Dclose", old, result=ctypes.c_int)
