package runs

import (
	"encoding/hex"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/run/telemetry/otlptest"
)

// A run that is stopped sends what it has, and its continuation says that it is one.
func TestAnInterruptedRunSendsItsAttempts(t *testing.T) {
	tier.Rest(t, "run/telemetry", "run/*.go", "cmd/batch/telemetry.go")
	e2e.NeedDocker(t)
	t.Parallel()
	c, dir := otlptest.New(t, nil), t.TempDir()
	e2e.OwnRows(t, dir)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	cmd, lines := e2e.StartSlow(t, dir, 2, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "TRACEPARENT=00-"+trace+"-b7ad6b7169203331-01")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until the program has ended
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != e2e.ExitInterrupted {
		t.Fatalf("the run ended with %v, want exit code %d", err, e2e.ExitInterrupted)
	}
	tree := otlptest.Tree(c.Spans())
	if strings.Count(tree, "batch.outcome=pending") != 2 || strings.Count(tree, "error.type=canceled") != 2 {
		t.Errorf("want two pending attempts, and two commands that were canceled:\n%s", tree)
	}
	for _, s := range c.Spans() {
		if got := hex.EncodeToString(s.TraceId); got != trace {
			t.Errorf("span %s is part of trace %s, want %s", s.Name, got, trace)
		}
	}
	counted := false
	for _, m := range c.Metrics() {
		counted = counted || m.Name == "batch.attempts"
	}
	if !counted {
		t.Error("no metric has the number of attempts")
	}
	again := e2e.Batch(t, dir, e2e.SlowArgs...)
	again.Env = append(again.Env, "GO=1", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tree = otlptest.Tree(c.Spans())
	if strings.Count(tree, "batch.resumed=1") != 2 || strings.Count(tree, "batch.exit_status=Submitted batch.instance.id") != 4 {
		t.Errorf("want four attempts that submitted, two of them resumed:\n%s", tree)
	}
}
