package session_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
)

// continued records that the attempt in a journal, which is a session, began or is resumed.
func continued(w *journal.Writer) error {
	last, _ := w.State()
	h, err := w.HistoryHere()
	if errors.Is(err, fs.ErrNotExist) {
		return w.Begin(1, struct{}{})
	}
	if err != nil {
		return err
	}
	return w.Resume(struct{}{}, last.SpentSoFar(), h.LastReply())
}

// open opens the journal of a session in a file, without what a crash has left of a record.
func open(path string, o journal.Options) (*journal.Writer, error) {
	tail, err := journal.ReadTail(path)
	if err == nil && tail.Torn > 0 {
		err = tail.Cut(path, nil)
	}
	if err != nil {
		return nil, err
	}
	w, err := journal.Open(path, tail, o)
	if err != nil {
		return nil, err
	}
	if err := continued(w); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// A session survives a restart of the program: its store is a journal.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "You are an agent.", InstanceTemplate: "{{ task }}", FinishWithoutCalls: true, Actions: tools(),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	model := &replies{answers: []llm.Message{says("Hello."), says("You said hello.")}}
	for _, words := range []string{"Hello!", "What did I say?"} { // each as if in another process
		store, err := open(filepath.Join(dir, "journal.jsonl"), journal.Options{Spend: func(_, _ float64) {}})
		if err != nil {
			panic(err)
		}
		s := session.New(session.Config{ContextID: "greetings", Store: store, Loop: loop})
		if err := s.Start(ctx); err != nil {
			panic(err)
		}
		res, err := s.Turn(ctx, session.Input{Words: words, Model: model, Env: &commands{}})
		if err != nil {
			panic(err)
		}
		fmt.Printf("turn %d: %s\n", res.Turn, res.Answer)
		if err := errors.Join(s.Shutdown(ctx), store.Close()); err != nil {
			panic(err)
		}
	}
	// Output:
	// turn 1: Hello.
	// turn 2: You said hello.
}
