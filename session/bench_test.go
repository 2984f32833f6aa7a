package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
	"batch.example/batch/session"
	"batch.example/batch/vocab"
)

// endless is a model that runs a command in so many calls of each turn, and then answers.
type endless struct {
	steps int
	mu    sync.Mutex
	calls int
}

// Generate implements [llm.Model].
func (m *endless) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.calls%(m.steps+1) == 0 {
		return reply(says("done")), nil
	}
	call := llm.ToolCall{ID: fmt.Sprint("call", m.calls), Name: "bash", Arguments: `{"command":"ls"}`}
	return reply(llm.Message{Parts: llm.Say("I look.", call)}), nil
}

// begun is a session that is ready for turns.
func begun(b *testing.B, dir, id string) *session.Session {
	b.Helper()
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "You are an agent.", InstanceTemplate: "{{ task }}", FinishWithoutCalls: true, Actions: tools(),
	})
	if err != nil {
		b.Fatal(err)
	}
	store, err := openIn(dir, id)
	if err != nil {
		b.Fatal(err)
	}
	s := session.New(session.Config{ContextID: id, Store: store, Loop: loop})
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(s.Shutdown(context.Background()), store.Close()); err != nil {
			b.Error(err)
		}
	})
	return s
}

// A turn of each of 200 sessions, all at once, with ten commands of 1 KiB of output. Memory is
// what the sessions keep between their turns.
func Benchmark200Sessions(b *testing.B) {
	const sessions = 200
	dir := b.TempDir()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var list []*session.Session
	var inputs []session.Input
	for i := range sessions {
		list = append(list, begun(b, dir, fmt.Sprint("context", i)))
		inputs = append(inputs, session.Input{Words: "again", Model: &endless{steps: 10}, Env: &commands{}})
	}
	for b.Loop() {
		var done sync.WaitGroup
		for i, s := range list {
			done.Go(func() {
				if _, err := s.Turn(b.Context(), inputs[i]); err != nil {
					b.Error(err)
				}
			})
		}
		done.Wait()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/sessions/1024, "KiB/session")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/sessions, "ns/turn")
	runtime.KeepAlive(list)
}

// What it takes to begin a turn after so many of ten steps, each with 16 KiB of output.
func BenchmarkBeginAfterTurns(b *testing.B) {
	for _, turns := range []int{1, 10, 50} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			s := begun(b, b.TempDir(), "context")
			in := session.Input{Words: "again", Model: &endless{steps: 10}, Env: &commands{}}
			large := strings.Repeat("x", 16<<10)
			for range turns {
				in.Env = prints(large)
				if _, err := s.Turn(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
			in.Model = &endless{}
			for b.Loop() {
				if _, err := s.Turn(b.Context(), in); err != nil { // one call, without a command
					b.Fatal(err)
				}
			}
		})
	}
}

// prints is an environment in which each command prints the text.
type prints string

// Execute implements [session.Environment].
func (p prints) Execute(context.Context, string, string) (vocab.Output, error) {
	return vocab.Output{Bytes: []byte(p), Total: int64(len(p))}, nil
}

// Vars implements [session.Environment].
func (prints) Vars() map[string]any { return nil }
