package main

import (
	"cmp"
	"context"

	"batch.example/batch/run"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/telemetry"
)

// startTelemetry makes r send telemetry if the environment asks for it. Errors of sending go
// to the directory's log alone. stop must be called when the work is done.
func (s *invocation) startTelemetry(ctx context.Context, r *run.Run) (stop func(), err error) {
	if s.telemetry == nil {
		return func() {}, nil
	}
	log, closeLog, err := rundir.OpenLog(s.Output, s.mask, rundir.View{})
	if err != nil {
		return nil, err
	}
	m := r.Model
	t, err := s.telemetry.Start(ctx, telemetry.About{
		Model: cmp.Or(m.Name, m.Provider), Service: m.Provider, Version: run.Version(), Mask: s.mask, Log: log,
	})
	if err != nil {
		closeLog()
		return nil, err
	}
	r.Listen = t.Listen
	return func() {
		t.Close()
		closeLog()
	}, nil
}
