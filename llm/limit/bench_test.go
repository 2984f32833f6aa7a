package limit_test

import (
	"context"
	"testing"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/llm/limit"
)

func BenchmarkATryThatDoesNotWait(b *testing.B) {
	l := limit.New(limit.Limits{Requests: 1e15, Tokens: 1e15})
	resp := &llm.Response{Rate: &llm.Rate{Requests: llm.Window{Limit: 1e15, Remaining: 1e15}}}
	b.ReportAllocs()
	for b.Loop() {
		pass, err := l.Enter(context.Background(), &llm.Ticket{Tokens: 1000})
		if err != nil {
			b.Fatal(err)
		}
		pass.Done(resp, nil)
	}
}

// Ten thousand calls wait while others arrive and are canceled.
func BenchmarkACallThatIsCanceledInALongQueue(b *testing.B) {
	l := limit.New(limit.Limits{Requests: 1})
	pass, err := l.Enter(context.Background(), &llm.Ticket{})
	if err != nil {
		b.Fatal(err)
	}
	pass.Done(nil, refusal(10*time.Minute))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	const waiting = 10_000
	for range waiting {
		go func() {
			_, _ = l.Enter(ctx, &llm.Ticket{})
			ended <- struct{}{}
		}()
	}
	canceled, stop := context.WithCancel(context.Background())
	stop()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = l.Enter(canceled, &llm.Ticket{})
	}
	cancel()
	for range waiting {
		<-ended
	}
}
