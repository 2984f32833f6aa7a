#include <Python.h>

static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(41); }

static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tiny", NULL, -1, methods};

PyMODINIT_FUNC PyInit_tiny(void) { return PyModule_Create(&module); }
