package runs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
)

// pricedStub is a price registry in which a call of a million input tokens costs $0.50.
const pricedStub = `{"stub-1": {"input_cost_per_token": 5e-7, "output_cost_per_token": 5e-7}}`

// TestTheTotalCostLimitHoldsOverInterrupts repeatedly ends runs while a call of $0.50 is
// under way. The provider charges for every call that it received.
func TestTheTotalCostLimitHoldsOverInterrupts(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	for name, interrupt := range map[string]func(t *testing.T, p *os.Process){
		"SIGTERM": func(t *testing.T, p *os.Process) { signalTo(t, p, syscall.SIGTERM) },
		"two interrupts": func(t *testing.T, p *os.Process) {
			signalTo(t, p, os.Interrupt)
			time.Sleep(500 * time.Millisecond) // two signals of one kind at once are delivered as one
			signalTo(t, p, os.Interrupt)
		},
		"kill -9": func(t *testing.T, p *os.Process) { signalTo(t, p, os.Kill) },
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			arrived := make(chan struct{}, 100)
			cost := 0.5
			server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
				a := stub.Bash("true")
				a.Cost = &cost
				if calls.Add(1) > 1 { // the first call shows the price
					arrived <- struct{}{}
					a.Fault = stub.Silence
				}
				return a
			})
			dir := t.TempDir()
			e2e.OwnRows(t, dir)
			if err := os.WriteFile(filepath.Join(dir, "prices.json"), []byte(pricedStub), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 12 {
				cmd := e2e.Batch(t, dir, "run", "--subset", "rows.jsonl", "--slice", ":1", "-w", "1", "-m", "openai/stub-1", "-o", "out", "-q",
					"--cost-limit-total", "2.5", "-c", "model.litellm_model_registry=prices.json")
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+e2e.PlantedKey)
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() { _ = cmd.Wait(); close(ended) }()
				select {
				case <-arrived:
					interrupt(t, cmd.Process)
				case <-ended:
				case <-time.After(e2e.Patience):
					t.Fatalf("got neither a call nor the end of the run\n%s", out.String())
				}
				select {
				case <-ended:
				case <-time.After(30 * time.Second): // on a busy machine two interrupts can be delivered as one
					interrupt(t, cmd.Process)
					<-ended
				}
			}
			snap, err := results.Read(filepath.Join(dir, "out"))
			if err != nil {
				t.Fatal(err)
			}
			if n := calls.Load(); n != 5 || snap.Spent != 2.5 {
				t.Errorf("got %d calls of $0.50 under a limit of $2.50 and $%v counted, want 5 and $2.5", n, snap.Spent)
			}
		})
	}
}

func signalTo(t *testing.T, p *os.Process, sig os.Signal) {
	t.Helper()
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}
