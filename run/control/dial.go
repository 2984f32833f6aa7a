package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
)

// busy is for a system that refuses a client for a moment, while many others connect.
var busy = retry.Policy{First: 20 * time.Millisecond, Tries: 100}

// dial connects to the socket at path, which may be longer than an address of a socket. It refuses
// the server of a user who cannot be trusted.
func dial(ctx context.Context, path string) (net.Conn, error) {
	conn, err := connect(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkServer(conn); err != nil {
		_ = conn.Close() // nothing was sent
		return nil, err
	}
	return conn, nil
}

// checkServer refuses the server of another user, who may have put a socket into a folder that all
// may write, to read what is sent.
func checkServer(conn net.Conn) error {
	if os.Getuid() == 0 {
		return nil
	}
	p, err := senderAt(conn)
	if err == nil && !trusted(p.uid, os.Getuid()) {
		err = fault.Newf(fault.Host, "its %s belongs to %s", SocketName, strings.TrimSpace(fmt.Sprintf("user %d %s", p.uid, userName(p.uid)))).
			WithHint("only work of your own user, or of root, is watched and controlled")
	}
	return err
}

// trusted reports whether a program of user uid may talk to one of the user self: root may read
// everything anyway.
func trusted(uid, self int) bool { return uid == 0 || uid == self }

func connect(ctx context.Context, path string) (conn net.Conn, err error) {
	for tries := busy.Start(); ; {
		err = short(path, func(address string) error {
			conn, err = new(net.Dialer).DialContext(ctx, "unix", address)
			return err
		})
		if !errors.Is(err, syscall.EAGAIN) || !tries.Wait(ctx) {
			return conn, err
		}
	}
}
