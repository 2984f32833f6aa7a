from setuptools import Extension, setup

setup(name="tiny", version="1.0", ext_modules=[Extension("tiny", ["tiny.c"])])
