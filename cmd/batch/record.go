package main

import (
	"github.com/spf13/pflag"

	"batch.example/batch/llm/cassette"
	"batch.example/batch/run"
)

// addRecord adds the flags that say whether the exchanges with a model's provider are recorded, or
// come from a recording.
func addRecord(flags *pflag.FlagSet, r *run.Request) {
	flags.BoolVar(&r.Record, "record", false, "record what is sent to the model's provider and what it answers, without keys, in\n<output>/<id>/"+cassette.FileName)
	flags.StringVar(&r.Replay, "replay", "", "answer the model calls from the recording in the run directory `DIR`, without a network or a key")
	flags.BoolVar(&r.ReplayChanged, "replay-changed", false, "with --replay: give the recorded answers in order although a request differs from the recorded\none, as with commands that print times")
	inSection(flags, "Model and configuration")
}
