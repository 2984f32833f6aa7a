package control

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// While many clients connect, the system refuses others for a moment.
const (
	busyPause = 20 * time.Millisecond
	busyTries = 100
)

// dial connects to the socket at path, which may be longer than an address of a socket.
func dial(ctx context.Context, path string) (conn net.Conn, err error) {
	for tries := 1; ; tries++ {
		err = short(path, func(address string) error {
			conn, err = new(net.Dialer).DialContext(ctx, "unix", address)
			return err
		})
		if !errors.Is(err, syscall.EAGAIN) || tries == busyTries {
			return conn, err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
