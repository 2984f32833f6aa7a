// Package python is what Python does with text, lists and random numbers, where
// files, prompts and selections must come out as mini-swe-agent's. It promises the
// same bytes, the same positions and the same order as Python 3.
package python
