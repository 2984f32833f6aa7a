package daemon

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/fault"
)

// PlainAddress splits host into what net.Dial takes; false when the connection
// is not a plain one (TLS, ssh, named pipe).
func PlainAddress(host string, tls bool) (network, addr string, ok bool) {
	network, addr, _ = strings.Cut(host, "://")
	switch {
	case network == "unix":
		return network, addr, true
	case network == "tcp" && !tls:
		addr, _, _ = strings.Cut(addr, "/")
		return network, addr, true
	}
	return "", "", false
}

// dialLimit is for one more connection to an engine that did not answer.
const dialLimit = 5 * time.Second

// unreachable says why the engine at host does not answer and what to do. The
// client drops the cause of a failed dial, so it is asked for once more.
func unreachable(ctx context.Context, host string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	f := fault.New(fault.Host, "reaching the docker engine at "+host, err)
	network, addr, ok := PlainAddress(host, false)
	if !ok {
		return f.WithHint("check DOCKER_HOST, its certificates or keys, and that the engine runs there")
	}
	conn, dialErr := (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, network, addr)
	if dialErr == nil {
		_ = conn.Close()
		return f.WithHint("something listens there but does not answer like a docker engine; " +
			"check DOCKER_HOST, or restart the engine")
	}
	f.Err = dialErr
	switch {
	case errors.Is(dialErr, fs.ErrNotExist):
		return f.WithHint("there is no socket: install Docker, start it (sudo systemctl start docker), " +
			"or set DOCKER_HOST or DOCKER_CONTEXT")
	case errors.Is(dialErr, fs.ErrPermission):
		return f.WithHint("you may not use this socket: add yourself to its group " +
			"(sudo usermod -aG docker $USER, then log in again)")
	case errors.Is(dialErr, syscall.ECONNREFUSED):
		return f.WithHint("nothing listens there: start the engine (sudo systemctl start docker)")
	}
	return f.WithHint("check DOCKER_HOST and that the engine runs there")
}
