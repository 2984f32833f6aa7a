// Package abspath makes paths absolute without a change of the file that they mean.
package abspath

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Join returns the absolute path of what name means in the folder dir, which is absolute. An
// absolute name stays as it is. Where name goes up (..), the answer is as the kernel finds it,
// which follows symbolic links first; [filepath.Join] would not.
func Join(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if GoesUp(name) {
		if path, err := filepath.EvalSymlinks(dir + string(os.PathSeparator) + name); err == nil {
			return path
		}
	}
	return filepath.Join(dir, name)
}

// GoesUp reports whether a path has an element that is "..".
func GoesUp(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}
