package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/llm/cassette"
)

func TestRecordFlagsThatDoNotGoTogether(t *testing.T) {
	for want, f := range map[string]recordFlags{
		"cannot be used together":  {record: true, replay: "x"},
		"needs --replay":           {changed: true},
		"there is no recording in": {replay: t.TempDir()},
	} {
		if err := f.checkRecord(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", f, err, want)
		}
	}
}

func TestADirectoryToReplayMayHaveAnyName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run[1]")
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", cassette.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&recordFlags{replay: dir}).checkRecord(); err != nil {
		t.Errorf("got %v, want no error", err)
	}
}

func TestAPlayedModelIsNeitherRecordedNorReplayed(t *testing.T) {
	for flag, f := range map[string]recordFlags{"--record": {record: true}, "--replay": {replay: "x"}, "": {}} {
		for provider, played := range map[string]bool{"scripted": true, "oracle": true, "openai": false, "hosted_vllm": false} {
			err := f.checkAsked(provider)
			if refused := err != nil; refused != (played && flag != "") || refused && !strings.HasPrefix(err.Error(), flag+": batch plays "+provider) {
				t.Errorf("%+v, %s: got %v", f, provider, err)
			}
		}
	}
}

func TestAnIncompleteRecordingIsReportedOnce(t *testing.T) {
	var out bytes.Buffer
	failed := (&invocation{app: &app{stderr: &out}}).tellNotRecorded()
	for _, instance := range []string{"a", "a", "b"} {
		failed(instance, errors.New("no space left on device"))
	}
	const end = ": its recording is not complete, and cannot be replayed: no space left on device\n"
	if want := "batch: a" + end + "batch: b" + end; out.String() != want {
		t.Errorf("reported %q, want %q", out.String(), want)
	}
}
