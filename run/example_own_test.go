package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/llm"
	"batch.example/batch/results"
	"batch.example/batch/run"
)

type own struct{ command string } // a model that always asks for one command

func (m own) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	arguments, err := json.Marshal(map[string]string{"command": m.command})
	call := llm.ToolCall{ID: "1", Name: "bash", Arguments: string(arguments)}
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("", call)}}, err
}

func Example() {
	ctx, request := context.Background(), run.NewRequest()
	request.Subset, request.Named = "demo", []string{"demo__slug-1", "demo__roman-8"}
	request.Output, request.Grade, request.Model = "runs/own", true, "noop" // replaced below
	setup, err := run.NewSetup(request, run.NewProcess(nil, os.Environ(), os.Getenv("HOME")))
	check(err)
	config, err := setup.Load(ctx)
	check(err)
	config.Model = run.Model{Name: "my/own", Open: func(bool) (attempt.Models, error) {
		return func(in dataset.Instance, _ int) (llm.Model, error) {
			return own{"git apply <<'END' && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff\n" + string(in.Patch) + "\nEND"}, nil
		}, nil
	}}
	r, err := run.Open(ctx, config)
	check(err)
	check(r.Work(ctx, nil, nil))
	check(r.Close())
	written, err := results.Read(request.Output)
	check(err)
	for _, record := range written.Records {
		fmt.Println(record.InstanceID, record.Outcome, record.Grade.Verdict)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
