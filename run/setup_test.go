package run

import (
	"testing"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
)

// `batch run --grade` prepares the container of the tests as `batch grade` does.
func TestTestsOfARunHaveItsStartupCommand(t *testing.T) {
	cfg := &config.Config{}
	cfg.Run.EnvStartupCommand = "touch /ready"
	s := &Setup{Request: Request{Grade: true}, Process: testProcess(t), Settings: cfg}
	startup := s.Grading().Startup
	if startup == nil {
		t.Fatal("there is no start-up command")
	}
	if got, err := startup(dataset.Instance{ID: "a__b-1"}); got != "touch /ready" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
