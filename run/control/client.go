package control

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
)

// SocketName is the name of the socket in a run directory.
const SocketName = "control.sock"

// ErrNotRunning is the cause if no process works in a directory.
var ErrNotRunning = errors.New("no work is running there")

// NewID returns a new id for a [Command].
func NewID() string { return rand.Text() }

// Client talks to the work in one directory. It is safe for concurrent use. Each call opens its
// own connection, so that a Client also reaches the next process that works there.
type Client struct {
	http http.Client
	dir  string
}

// maxAnswer limits what a client reads of an answer, in bytes.
const maxAnswer = 64 << 20

// Dial returns a client for the work in dir, a run directory, a directory that is graded, or the
// folder of a sweep. For a cell of a sweep that runs, it is the sweep's client: see
// [Client.Dir]; sweep is its folder, and empty where dir is no cell. If no process works there, the
// error wraps [ErrNotRunning]. The work of a user who is neither this one nor root is refused, unless
// this one is root.
func Dial(dir, sweep string) (*Client, error) {
	var first error
	for _, d := range []string{dir, sweep} {
		if d == "" {
			break
		}
		conn, err := dial(context.Background(), filepath.Join(d, SocketName))
		if err == nil {
			_ = conn.Close() // the first request opens another one
			return newClient(d), nil
		}
		if first == nil {
			first = err
		}
		if !absent(err) {
			return nil, notReached(d, err)
		}
	}
	return nil, notReached(dir, first)
}

func newClient(dir string) *Client {
	return &Client{dir: dir, http: http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, filepath.Join(dir, SocketName))
		},
	}}}
}

// absent reports whether an error says that no process listens.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTDIR)
}

func notReached(dir string, err error) error {
	if absent(err) {
		return fault.Newf(fault.Usage, "%s: %w", dir, ErrNotRunning)
	}
	return fault.New(fault.Host, "connecting to the work in "+dir, err)
}

// Dir returns the directory of the socket. It is the sweep's folder if the Client was made for a
// cell.
func (c *Client) Dir() string { return c.dir }

// Status returns the state of the work. With content, it also has texts that agents wrote.
func (c *Client) Status(ctx context.Context, content bool) (s Status, err error) {
	path := "/status"
	if content {
		path += "?content=true"
	}
	return s, c.call(ctx, http.MethodGet, path, nil, &s)
}

// Do sends a command and returns when it is carried out. It sends the command once more if the answer
// was lost. An error is a fault; if the command cannot be carried out, its kind is Usage. After any
// other error the command may have been carried out: it can be sent again with the same ID. An empty
// ID gets a new one, with which no one can send it again.
func (c *Client) Do(ctx context.Context, cmd Command) (r Reply, err error) {
	if cmd.ID == "" {
		cmd.ID = NewID()
	}
	err = c.call(ctx, http.MethodPost, "/do", cmd, &r)
	if err != nil && fault.KindOf(err) != fault.Usage && ctx.Err() == nil {
		err = c.call(ctx, http.MethodPost, "/do", cmd, &r)
	}
	return r, err
}

// Wait returns when the process that works in the directory has ended, or with the error of
// ctx.
func (c *Client) Wait(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://control/wait", nil)
	if err != nil {
		return fault.New(fault.Bug, "waiting for the work", err)
	}
	resp, err := c.http.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close() // it was read to its end
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !absent(err) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
		return fault.New(fault.Host, "waiting for the work in "+c.dir, err)
	}
	return nil
}

// problem is the body of an answer that is not 200.
type problem struct {
	Kind  string `json:"kind"`
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// answerTime is how long a client waits for an answer.
const answerTime = 30 * time.Second

// call makes a request and decodes its answer.
func (c *Client) call(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			return fault.New(fault.Bug, "encoding a command", err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://control"+path, &payload)
	if err != nil {
		return fault.New(fault.Bug, "making a request to the work", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return notReached(c.dir, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return notReached(c.dir, err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fault.New(fault.Host, "reading the answer of the work in "+c.dir, err)
	}
	return nil
}

// refusal returns the fault that an answer describes.
func refusal(status int, text []byte) error {
	var p problem
	if err := json.Unmarshal(text, &p); err != nil || p.Error == "" {
		return fault.Newf(fault.Host, "the work refused the request: %s", http.StatusText(status))
	}
	kind := fault.Host
	if p.Kind == fault.Usage.String() {
		kind = fault.Usage
	}
	return fault.Newf(kind, "%s", p.Error).WithHint("%s", p.Hint)
}

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
