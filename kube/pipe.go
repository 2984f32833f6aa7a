package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/remotecommand"

	"batch.example/batch/internal/boxinit/wire"
)

// pipe is an exec of a relay in a pod: see the package's comment. It implements [box.Pipe].
type pipe struct {
	net.Conn
	said  said
	end   context.CancelFunc // ends the exec
	close func() error
	after func() // called when it was closed
}

// dial starts a relay. It returns at once: the stream carries nothing until the relay runs.
func (c *cluster) dial(pod string) (*pipe, error) {
	if c.before != nil {
		if err := c.before("attach"); err != nil {
			return nil, c.note(err)
		}
	}
	exec, err := c.executor(pod)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	mine, theirs := net.Pipe()
	p := &pipe{Conn: mine, end: end, after: func() {}}
	var running sync.WaitGroup
	running.Go(func() {
		defer theirs.Close() //nolint:errcheck // always nil
		err := exec.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: theirs, Stdout: theirs, Stderr: &p.said})
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(&p.said, "%v", err)
		}
	})
	p.close = sync.OnceValue(func() error {
		end()
		err := mine.Close()
		running.Wait()
		p.after()
		return err
	})
	return p, nil
}

// Close implements io.Closer.
func (p *pipe) Close() error { return p.close() }

// Said implements [box.Pipe]: the beginning of the relay's stderr, and why the exec ended.
func (p *pipe) Said() string { return p.said.String() }

// maxSaid is how much of stderr is kept.
const maxSaid = 2 << 10

// said keeps the beginning of what is written to it. It is safe for concurrent use.
type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, b[:min(len(b), maxSaid-len(s.text))]...)
	return len(b), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// executor uses a websocket, and SPDY where something on the way does not support websockets.
func (c *cluster) executor(pod string) (remotecommand.Executor, error) {
	url := c.core.Post().Namespace(c.namespace).Resource("pods").Name(pod).SubResource("exec").VersionedParams(&corev1.PodExecOptions{
		Container: helperName, Command: []string{program, wire.RelayWord}, Stdin: true, Stdout: true, Stderr: true,
	}, c.params).URL()
	spdy, err := remotecommand.NewSPDYExecutor(c.config, http.MethodPost, url)
	if err != nil {
		return nil, err
	}
	socket, err := remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, url.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(socket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}
