package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/retry"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/control"
)

// waitPause is the time between two looks at a directory whose process does not listen.
const waitPause = 200 * time.Millisecond

// exited is the error of wait: the work has ended with an exit code.
type exited struct{ code int }

func (e exited) Error() string { return fmt.Sprintf("the work ended with the exit code %d", e.code) }

// wait returns when the work in dir has ended. Its error has the exit code of the work.
func (a *app) wait(ctx context.Context, dir string, asJSON bool) error {
	at, err := untilEnded(ctx, dir)
	if err != nil {
		return err
	}
	h, err := control.Read(at)
	if err != nil {
		return err
	}
	word := printable.ShellWord(at)
	switch {
	case h.Begun == nil:
		return fault.Newf(fault.Usage, "%s: no work has begun there that can be waited for", at).WithHint("`batch status %s` shows what is there", word)
	case h.Ended == nil:
		return fault.Newf(fault.Host, "%s: process %d was killed, or its machine stopped: it left no exit code", at, h.Begun.PID).
			WithHint("`batch resume %s` continues it", word)
	}
	if asJSON {
		if err := a.writeJSON(h.Ended); err != nil {
			return err
		}
	}
	if h.Ended.Code == exitOK {
		return nil
	}
	return exited{h.Ended.Code}
}

// untilEnded returns when no process works in dir, and the directory of its control.jsonl.
func untilEnded(ctx context.Context, dir string) (at string, err error) {
	at = dir
	for {
		client, err := reach(dir)
		if err == nil {
			if err = client.Wait(ctx); err != nil {
				return at, err
			}
			at = client.Dir()
		} else if !errors.Is(err, control.ErrNotRunning) {
			return at, err
		}
		busy, failed := results.InUse(at)
		if failed != nil {
			return at, failed
		}
		if !busy && err != nil {
			return recorded(at), nil
		}
		if err := retry.Sleep(ctx, waitPause); err != nil {
			return at, err
		}
	}
}

// recorded returns the directory with the record of the work in dir: for a cell, it may be the
// sweep's.
func recorded(dir string) string {
	up := sweeps.Of(dir)
	if h, err := control.Read(dir); err == nil && h.Begun == nil && up != "" {
		return up
	}
	return dir
}
