//go:build linux || darwin

package docker

import "syscall"

// statfs returns the bytes an unprivileged process could still write at dir.
func statfs(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
