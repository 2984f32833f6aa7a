//go:build !linux && !darwin

package control

import "errors"

// peerOf fails where the user at the other end is not known: then no client is served, and only
// root is a client.
func peerOf(int) (uid, pid int, err error) { return 0, 0, errors.ErrUnsupported }
