package mcp

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

// Program is a server that is started.
type Program struct {
	Name   string // the server's
	Args   []string
	Env    []string  // NAME=value
	Dir    string    // where it starts, outside a container; empty: the working directory
	Stderr io.Writer // never fails
}

// Stream is the stdin and stdout of a started server.
type Stream interface {
	io.ReadWriteCloser // Close ends the server with everything that it started, and may be called twice
	// Exit returns the server's exit code once it has ended; 126 and 127 mean that it
	// could not be started.
	Exit() (code int, ended bool)
}

// Dial starts a program in the attempt's container. The end of ctx ends only the start.
type Dial func(ctx context.Context, p Program) (Stream, error)

// Config has the settings of the connections of one attempt.
type Config struct {
	Servers []Server     // each passes Check; their names differ
	Dial    Dial         // for servers inside
	Log     *slog.Logger // nil discards
	Mask    *mask.Masker // hides secrets in the log
}

// Set is the servers of one attempt, connected. It is safe for concurrent use.
type Set struct {
	clients []*client
	tools   []agent.Tool
}

// Connect connects to all servers and asks for their tools. The caller must Close the Set.
// An error names the server, and leaves nothing to close: a Usage fault if a program does
// not exist or ends at once, or if a server refuses the login, is not an MCP server, or has
// none or too many of the tools; a Transient fault if it cannot be reached or does not
// answer in time.
func Connect(ctx context.Context, c Config) (*Set, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Set{}
	var g errgroup.Group
	for _, server := range c.Servers {
		s.clients = append(s.clients, newClient(server, c))
	}
	for _, one := range s.clients {
		g.Go(func() error { return one.open(ctx) })
	}
	if err := g.Wait(); err != nil {
		s.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	slices.SortFunc(s.clients, func(a, b *client) int { return cmp.Compare(a.Name, b.Name) })
	names := map[string]bool{}
	for _, one := range s.clients {
		s.tools = append(s.tools, one.tools(names)...)
	}
	if len(s.tools) > maxTools {
		s.Close()
		return nil, fault.Newf(fault.Usage, "the MCP servers have %d tools that may be used, expected at most %d", len(s.tools), maxTools).
			WithHint("name only the tools that the task needs in agent.mcp_servers.NAME.tools")
	}
	return s, nil
}

// maxTools is the number of tools that the servers may have together: providers take 128 in a
// request.
const maxTools = 100

// Tools are the tools that may be used, in the same order for the same servers. They can be
// called until Close.
func (s *Set) Tools() []agent.Tool { return s.tools }

// Close ends all connections, and the programs that were started for them.
func (s *Set) Close() {
	var g errgroup.Group
	for _, one := range s.clients {
		g.Go(func() error { one.close(); return nil })
	}
	_ = g.Wait() // never fails
}
