//go:build !linux

package control

// short calls use with a path of the socket. Here a long path is refused by the system.
func short(path string, use func(address string) error) error { return use(path) }
