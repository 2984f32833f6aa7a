// Package authority carries the identity and the credentials of the person for whom a turn
// of an agent runs. They come with the turn, reach the model's client and the tools of that
// turn through its context, and nothing else: no journal, log, trajectory, error or
// container has them. A later turn brings its own, so that short-lived tokens can be
// renewed between turns.
package authority

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"batch.example/batch/fault"
)

// Authority is what a turn may act with. It must not be changed while the turn runs. Its
// text and its JSON hide everything.
type Authority struct {
	Actor    string            // who the person is, as the caller names them
	ModelKey string            // used in place of the model's own API key; empty: that one
	Tokens   map[string]string // for tools, by the name of an MCP server
	Expires  time.Time         // zero: never
}

// ErrExpired says that an authority has expired. It is the cause of a fault of the kind
// [fault.Expired].
var ErrExpired = errors.New("the credentials of this turn have expired")

// Check returns a fault of the kind [fault.Expired] if a has expired at that time. A nil
// Authority never expires.
func (a *Authority) Check(now time.Time) error {
	if a == nil || a.Expires.IsZero() || now.Before(a.Expires) {
		return nil
	}
	return fault.New(fault.Expired, "", ErrExpired).WithHint("try the turn again with fresh credentials")
}

// ErrRefused says that a provider does not accept an authority's credentials. It is a cause
// of a fault of the kind [fault.Expired] too.
var ErrRefused = errors.New("the credentials of this turn are refused")

type key struct{}

// With returns a context that carries a.
func With(ctx context.Context, a *Authority) context.Context {
	return context.WithValue(ctx, key{}, carrier(func() *Authority { return a }))
}

// carrier has an authority in a context. Nothing can print what a function returns.
type carrier func() *Authority

// From returns what a context carries, or nil.
func From(ctx context.Context) *Authority {
	if carried, ok := ctx.Value(key{}).(carrier); ok {
		return carried()
	}
	return nil
}

const hidden = "authority(hidden)"

// Format hides the content, whatever the verb is.
func (Authority) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// String hides the content.
func (Authority) String() string { return hidden }

// MarshalText hides the content, in JSON too.
func (Authority) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the content.
func (Authority) LogValue() slog.Value { return slog.StringValue(hidden) }
