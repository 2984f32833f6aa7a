package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/vocab"
)

// client is one server and its current connection. It is safe for concurrent use.
type client struct {
	Server
	config Config
	said   *diary

	turn     chan struct{} // taken while a connection is made or closed
	connects int           // so far; used by the holder of the turn

	mu      sync.Mutex
	current *connection // nil: none
	closed  bool

	list []*sdk.Tool // the tools that may be used, sorted by name
}

func newClient(s Server, c Config) *client {
	return &client{
		Server: s, config: c, turn: make(chan struct{}, 1),
		said: &diary{log: c.Log, mask: c.Mask, server: s.Name},
	}
}

// open connects to the server for the first time and asks for its tools.
func (c *client) open(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, c.timeout())
	defer stop()
	conn, err := c.connected(ctx)
	if err != nil {
		return err
	}
	if err := c.listTools(ctx, conn); err != nil {
		if fault.KindOf(err) == fault.Unknown {
			err = conn.fault(err, "asking the MCP server "+c.Name+" for its tools", c.Name)
		}
		c.close()
		return err
	}
	c.config.Log.Info("connected to an MCP server", "server", c.Name, "tools", len(c.list))
	return nil
}

const (
	maxListed = 5000 // tools that a server may have, also if few may be used
	maxPages  = 500  // in which it lists them
)

// listTools asks for the tools and keeps the allowed ones.
func (c *client) listTools(ctx context.Context, conn *connection) error {
	op := "asking the MCP server " + c.Name + " for its tools"
	known := map[string]*sdk.Tool{}
	listed, cursor := 0, ""
	for page := 1; ; page++ {
		var list *sdk.ListToolsResult
		err := conn.within(ctx, func(ctx context.Context) (err error) {
			list, err = conn.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			return err
		})
		if wire, ok := refusal(err); ok {
			return fault.Newf(fault.Usage, "%s: it refuses: %s", op, mask.Clip(wire.Message, maxKept))
		}
		if err != nil {
			return err
		}
		if listed += len(list.Tools); listed > maxListed || page > maxPages {
			return fault.Newf(fault.Usage, "%s: it lists more than %d, or in more than %d parts", op, maxListed, maxPages)
		}
		for _, t := range list.Tools {
			if _, twice := known[t.Name]; twice {
				c.config.Log.Warn("an MCP server lists a tool twice: the first is used", "server", c.Name, "tool", mask.Clip(t.Name, maxKept))
				continue
			}
			known[t.Name] = t
		}
		if cursor = list.NextCursor; cursor == "" {
			break
		}
	}
	if err := c.lacks(known); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if c.allows(name) {
			c.list = append(c.list, known[name])
		}
	}
	return nil
}

// lacks reports the first pattern in Tools that no tool of the server matches.
func (c *client) lacks(known map[string]*sdk.Tool) error {
	for _, pattern := range c.Tools {
		found := false
		for name := range known {
			found = found || matches(pattern, name)
		}
		if !found {
			names := slices.Sorted(maps.Keys(known))
			return fault.Newf(fault.Usage, "agent.mcp_servers.%s.tools has %q, but the server has no such tool", c.Name, pattern).
				WithHint("it has %s", mask.Clip(strings.Join(names, ", "), 1000))
		}
	}
	return nil
}

// errClosed ends a call after Close.
var errClosed = errors.New("the connection to the MCP server was closed")

// connected returns the connection; one that has ended is replaced.
func (c *client) connected(ctx context.Context) (*connection, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.turn }()
	c.mu.Lock()
	conn, closed := c.current, c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return nil, fault.New(fault.Bug, "calling a tool of the MCP server "+c.Name, errClosed)
	case conn != nil && !conn.ended():
		return conn, nil
	case conn != nil:
		c.config.Log.Warn("the connection to an MCP server has ended", "server", c.Name)
		conn.close()
		c.set(nil)
	}
	conn, err := connect(ctx, c.Server, c.config.Dial, c.said)
	if err != nil && c.connects > 0 && fault.KindOf(err) == fault.Usage { // it worked before
		err = fault.New(fault.Transient, "connecting again", err)
	}
	if err != nil {
		return nil, err
	}
	c.connects++
	c.set(conn)
	return conn, nil
}

func (c *client) set(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = conn
}

// drop ends a connection that a call found to be broken, unless another call has.
func (c *client) drop(conn *connection) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.mu.Lock()
	mine := c.current == conn
	if mine {
		c.current = nil
	}
	c.mu.Unlock()
	if mine {
		conn.close()
	}
}

// close ends the connection; no other can be made.
func (c *client) close() {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.mu.Lock()
	conn := c.current
	c.current, c.closed = nil, true
	c.mu.Unlock()
	if conn != nil {
		conn.close()
	}
}

// call calls a tool: see the package's documentation.
func (c *client) call(ctx context.Context, t *sdk.Tool, args map[string]any) (vocab.Output, error) {
	begin := time.Now()
	out, err := c.try(ctx, t, args)
	out.Duration = time.Since(begin)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

func (c *client) try(ctx context.Context, t *sdk.Tool, args map[string]any) (vocab.Output, error) {
	ctx, stop := context.WithTimeout(ctx, c.timeout())
	defer stop()
	for again := false; ; again = true {
		conn, err := c.connected(ctx)
		if err != nil {
			return vocab.Output{}, c.late(err)
		}
		var res *sdk.CallToolResult
		err = conn.within(ctx, func(ctx context.Context) (err error) {
			res, err = conn.session.CallTool(ctx, &sdk.CallToolParams{Name: t.Name, Arguments: args})
			return err
		})
		if err == nil {
			return output(res), nil
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return failed(fmt.Sprintf("The tool did not answer within %g seconds. The call was canceled; it may have had effects.", c.timeout().Seconds())), nil
		}
		if ctx.Err() != nil {
			return vocab.Output{}, ctx.Err()
		}
		if wire, ok := refusal(err); ok {
			return text(wire.Message, 1), nil
		}
		c.config.Log.Warn("the connection to an MCP server broke during a call", "server", c.Name, "tool", t.Name, "err", c.config.Mask.Text(conn.blame(err).why.Error()))
		c.drop(conn)
		if _, err := c.connected(ctx); err != nil {
			return vocab.Output{}, c.late(err)
		}
		if again || !repeatable(t) {
			return failed(conn.broke() + " Whether the call had effects is not known. The server runs again and may have lost its state."), nil
		}
	}
}

// late returns a Transient fault if a call's time ended while it waited for a connection.
func (c *client) late(err error) error {
	if fault.KindOf(err) == fault.Unknown && errors.Is(err, context.DeadlineExceeded) {
		return fault.Newf(fault.Transient, "connecting to the MCP server %s: it did not answer in time", c.Name)
	}
	return err
}

// repeatable reports whether a call may be made again if its outcome is unknown.
func repeatable(t *sdk.Tool) bool {
	return isReadOnly(t) || t.Annotations != nil && t.Annotations.IdempotentHint
}

// codeRejected is the SDK's own code for a request that was not delivered, for example
// because a proxy answered with status 503.
const codeRejected = -32005

// refusal returns the server's own error; the request was delivered.
func refusal(err error) (*jsonrpc.Error, bool) {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	return wire, ok && wire.Code != codeRejected
}
