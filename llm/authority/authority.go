// Package authority carries the identity and the credentials of the person for whom an agent's turn
// runs. They come with the turn. Through its context they reach the model's client and the turn's
// tools, and nothing else: no journal, log, trajectory, error or container contains them. A later
// turn brings its own, so that short-lived tokens can be renewed between turns.
//
// Its API is not promised to other programs: see package batch.
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

// Authority has the credentials of one turn. It must not be changed while the turn runs. Its text
// and its JSON hide everything.
type Authority struct {
	Actor    string            // the person's name, chosen by the caller
	ModelKey string            // replaces the model's own API key; empty: not replaced
	Tokens   map[string]string // for tools, by the name of an MCP server
	Expires  time.Time         // zero: never
}

// ErrExpired says that an authority has expired. It is wrapped in a [fault.Expired] fault.
var ErrExpired = errors.New("the credentials of this turn have expired")

// Check returns a [fault.Expired] fault if a has expired at now. A nil Authority never expires.
func (a *Authority) Check(now time.Time) error {
	if a == nil || a.Expires.IsZero() || now.Before(a.Expires) {
		return nil
	}
	return fault.New(fault.Expired, "", ErrExpired).WithHint("try the turn again with fresh credentials")
}

// ErrRefused says that a provider does not accept an authority's credentials. It is also wrapped in
// a [fault.Expired] fault.
var ErrRefused = errors.New("the credentials of this turn are refused")

type key struct{}

// With returns a context that carries a.
func With(ctx context.Context, a *Authority) context.Context {
	return context.WithValue(ctx, key{}, carrier(func() *Authority { return a }))
}

// carrier holds an authority in a context as a function, since printing a function does not show
// what it returns.
type carrier func() *Authority

// From returns the authority that ctx carries, or nil.
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
