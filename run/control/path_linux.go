package control

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is how long the address of a socket may be, in bytes.
const maxPath = 107

// short calls use with a path of the socket that is short enough for an address. It is valid
// until use returns.
func short(path string, use func(address string) error) error {
	if len(path) <= maxPath {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return use(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}
