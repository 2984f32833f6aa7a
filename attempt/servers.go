package attempt

import (
	"context"
	"slices"

	"batch.example/batch/agent/mcp"
	"batch.example/batch/journal"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// connect connects to the MCP servers of the attempt. The caller must Close the Set.
func (t *attempt) connect(ctx context.Context, box Sandbox) (*mcp.Set, error) {
	if len(t.Servers) == 0 {
		return &mcp.Set{}, nil
	}
	if slices.ContainsFunc(t.Servers, func(s mcp.Server) bool { return s.Inside }) {
		// Such a server could read the history that is being removed.
		if err := t.settle(ctx); err != nil {
			return nil, err
		}
	}
	defer t.watch.during(&t.watch.spent.Prepare)()
	dial := func(ctx context.Context, p mcp.Program) (mcp.Stream, error) {
		return box.Stream(ctx, sandbox.Program{Name: p.Name, Args: p.Args, Env: p.Env, Stderr: p.Stderr})
	}
	return mcp.Connect(ctx, mcp.Config{Servers: t.Servers, Dial: dial, Log: t.log, Mask: t.Mask})
}

// calledInside reports whether an action was a call to an MCP server in the container.
func (t *attempt) calledInside(a journal.Action) bool {
	server, ok := mcp.ServerOf(a.Tool)
	return ok && slices.ContainsFunc(t.Servers, func(s mcp.Server) bool { return s.Name == server && s.Inside })
}

// missing records that a call to an MCP server in the container, which has a result, cannot
// be made again: its effects on the container are missing.
func (t *attempt) missing(step, number int, a journal.Action, data *journal.ContainerData) error {
	t.log.Warn("a call to an MCP server in the container is not made again: what it changed there is missing", "step", step, "action", number)
	t.diverged = true
	data.Differences++
	return t.recordDifference(step, number, a, vocab.Output{ExitCode: -1})
}
