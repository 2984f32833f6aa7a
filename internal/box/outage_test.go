package box

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/vocab"
)

// pretend is a carrier with a helper in memory, which needs the given time for a command.
type pretend struct {
	box       *Box
	ends      time.Time // when the command has its result
	cut, back time.Time // no connection is possible in between
	stopped   int
}

func (*pretend) Name() string                           { return "pretend" }
func (*pretend) Dir() string                            { return "/" }
func (*pretend) Admit() (func(), error)                 { return func() {}, nil }
func (*pretend) DiskUse(context.Context) *vocab.DiskUse { return nil }
func (*pretend) Destroyed(f error) error                { return f }
func (p *pretend) Stop(context.Context, string) error   { p.stopped++; return nil }
func (*pretend) Start(context.Context) error            { return nil }

func (p *pretend) Connect(ctx context.Context) error {
	if !time.Now().Before(p.cut) {
		time.Sleep(time.Until(p.back))
	}
	here, there := net.Pipe()
	go p.serve(there)
	return p.box.Begin(ctx, wordless{here}, Running)
}

type wordless struct{ net.Conn }

func (wordless) Said() string { return "" }

// serve answers over one connection.
func (p *pretend) serve(conn net.Conn) {
	in, out := wire.NewReader(conn, wire.Key{}, wire.Runner), wire.NewWriter(conn, wire.Key{}, wire.Init)
	var m wire.Hello
	for {
		f, began, err := in.Next()
		switch {
		case err != nil:
			return
		case began && wire.Decode(f.Data, &m) == nil:
			in.Begin(m.Connection)
			_ = out.Begin(m.Connection, wire.Frame{Kind: wire.KindWelcome, Data: wire.Encode(wire.Welcome{Version: wire.Version, Connection: m.Connection})})
		case f.Kind == wire.KindRenew:
			_ = out.Write(m.Connection, wire.Frame{Kind: wire.KindAlive})
		case f.Kind == wire.KindRun:
			result := wire.Frame{Kind: wire.KindResult, ID: f.ID, Data: wire.Encode(wire.Result{Code: 7})}
			time.AfterFunc(time.Until(p.ends), func() { _ = out.Write(m.Connection, result) })
		}
	}
}

func TestOnlyTheTimeOfAConnectionMakesACommandOverdue(t *testing.T) {
	for name, tt := range map[string]struct {
		needs, cut, away time.Duration
		overdue          time.Duration // 0: the result is there
	}{
		"it ended during an outage":     {needs: 20 * time.Second, cut: 5 * time.Second, away: time.Hour},
		"it ended before an outage":     {needs: 89 * time.Second, cut: 85 * time.Second, away: time.Hour},
		"a helper that does not end it": {needs: time.Hour, overdue: 90 * time.Second},
		"the same, and an outage":       {needs: 3 * time.Hour, cut: 10 * time.Second, away: time.Hour, overdue: time.Hour + 70*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p := &pretend{ends: began.Add(tt.needs), cut: began.Add(tt.cut), back: began.Add(tt.cut + tt.away)}
				p.box = New(p, wire.Key{}, 0)
				defer p.box.Close()
				if tt.cut > 0 {
					time.AfterFunc(tt.cut, func() { _ = p.box.current().pipe.Close() })
				}
				r, err := p.box.Run(t.Context(), Command{Script: "x", Timeout: 30 * time.Second})
				if took := time.Since(began); tt.overdue > 0 {
					if err != nil || !r.TimedOut || p.stopped != 1 || took != tt.overdue || r.Duration != took {
						t.Errorf("timed out %v, stopped %d times, %v after %v; want %v", r.TimedOut, p.stopped, err, took, tt.overdue)
					}
				} else if err != nil || r.ExitCode != 7 || p.stopped > 0 {
					t.Errorf("exit code %d, stopped %d times, %v after %v", r.ExitCode, p.stopped, err, took)
				}
			})
		})
	}
}
