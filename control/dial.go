package control

import (
	"context"
	"net"
)

// dial connects to the socket at path, which may be longer than an address of a socket.
func dial(ctx context.Context, path string) (conn net.Conn, err error) {
	err = within(path, func(short string) error {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", short)
		return err
	})
	return conn, err
}
