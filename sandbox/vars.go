package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

// Vars returns the template variables for a sandbox of an image: its name, and the members
// of Python's platform.uname() on this machine, which mini-swe-agent's templates use.
func Vars(image string) map[string]any {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		host, _ := os.Hostname()
		return map[string]any{"image": image, "system": "", "node": host, "release": "", "version": "", "machine": ""}
	}
	return map[string]any{
		"image":   image,
		"system":  unix.ByteSliceToString(u.Sysname[:]),
		"node":    unix.ByteSliceToString(u.Nodename[:]),
		"release": unix.ByteSliceToString(u.Release[:]),
		"version": unix.ByteSliceToString(u.Version[:]),
		"machine": unix.ByteSliceToString(u.Machine[:]),
	}
}
