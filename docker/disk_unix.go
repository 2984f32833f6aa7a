//go:build linux || darwin

package docker

import (
	"io/fs"
	"syscall"
)

// statfs returns the bytes an unprivileged process could still write at dir.
func statfs(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}

// blocks returns what a file takes on its disk, in bytes, its inode, and whether
// it has several names.
func blocks(info fs.FileInfo) (size int64, inode uint64, many bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.Size(), 0, false
	}
	return st.Blocks * 512, st.Ino, st.Nlink > 1 && !info.IsDir()
}
