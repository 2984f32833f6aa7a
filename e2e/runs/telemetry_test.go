package runs

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/run/telemetry/otlptest"
)

func TestARunSendsItsAttemptsToACollector(t *testing.T) {
	tier.Rest(t, "run/telemetry", "run/*.go", "cmd/batch/telemetry.go")
	e2e.NeedDocker(t)
	t.Parallel()
	c, dir := otlptest.New(t, nil), t.TempDir()
	const trace = "0af7651916cd43dd8448eb211c80319c"
	cmd := e2e.Batch(t, dir, "run", "--subset", "demo", "--slice", ":2", "-m", "scripted/demo", "-o", "out", "-w", "2", "-q")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "TRACEPARENT=00-"+trace+"-b7ad6b7169203331-01")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tree := otlptest.Tree(c.Spans())
	for _, want := range []string{
		"invoke_agent batch (internal) batch.attempt=1 ", "batch.outcome=submitted ", "\n  chat demo (client) ", "gen_ai.provider.name=scripted ",
		"\n  execute_tool bash (internal) ", "process.exit.code=0", "* batch.interrupt batch.exit_status=Submitted",
	} {
		if strings.Count(tree, want) < 2 {
			t.Errorf("not two of %q in\n%s", want, tree)
		}
	}
	for _, s := range c.Spans() {
		if got := hex.EncodeToString(s.TraceId); got != trace {
			t.Errorf("span %s is part of trace %s, want %s", s.Name, got, trace)
		}
	}
	var names []string
	for _, m := range c.Metrics() {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "batch.attempts") || !strings.Contains(got, "gen_ai.client.operation.duration") {
		t.Errorf("metrics %s lack attempts or the duration of calls", got)
	}
}

// A run that is stopped sends what it has, and its continuation says that it is one.
func TestAnInterruptedRunSendsItsAttempts(t *testing.T) {
	tier.Rest(t, "run/telemetry", "run/*.go", "cmd/batch/telemetry.go")
	e2e.NeedDocker(t)
	t.Parallel()
	c, dir := otlptest.New(t, nil), t.TempDir()
	e2e.OwnRows(t, dir)
	cmd, lines := e2e.StartSlow(t, dir, 2, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
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

func TestTelemetryOverGRPCIsRefusedBeforeTheRun(t *testing.T) {
	tier.Rest(t, "run/telemetry", "run/*.go", "cmd/batch/telemetry.go")
	dir := t.TempDir()
	cmd := e2e.Batch(t, dir, "run", "--subset", "demo", "-m", "scripted/demo", "-o", "out")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != e2e.ExitUsage || !bytes.Contains(out, []byte("4318")) {
		t.Errorf("exit code %d, want %d and a hint:\n%s", cmd.ProcessState.ExitCode(), e2e.ExitUsage, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("there is a run directory")
	}
}
