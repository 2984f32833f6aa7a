package demo

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reply has the keys that a scripted reply of the demo may have.
type reply struct {
	Content string  `yaml:"content"`
	Bash    string  `yaml:"bash"`
	Cost    float64 `yaml:"cost"`
	In      int     `yaml:"input_tokens"`
	Out     int     `yaml:"output_tokens"`
}

func readReplies(t *testing.T) map[string][]reply {
	t.Helper()
	var all map[string][]reply
	text, err := fs.ReadFile(Files(), "replies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decode(t, text, &all)
	return all
}

func submits(r reply) bool {
	return strings.HasPrefix(r.Bash, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
}

func TestEveryInstanceHasReplies(t *testing.T) {
	all := readReplies(t)
	tasks := readTasks(t)
	if len(all) != len(tasks) {
		t.Errorf("replies for %d instances, want %d", len(all), len(tasks))
	}
	for _, k := range tasks {
		t.Run(k.ID, func(t *testing.T) {
			if len(all[k.ID]) < 3 {
				t.Fatalf("got %d replies, want values at least 3", len(all[k.ID]))
			}
			for i, r := range all[k.ID] {
				if r.Content == "" || r.Cost <= 0 || r.Cost > 0.01 || r.In < 1000 || r.Out < 1 {
					t.Errorf("reply %d lacks a field: %+v", i+1, r)
				}
				if submits(r) && i+1 != len(all[k.ID]) {
					t.Errorf("reply %d submits and is not the last", i+1)
				}
			}
		})
	}
}

func TestTheRepliesCoverEveryOutcomeOfTheDemo(t *testing.T) {
	const stepLimit = 12
	all := readReplies(t)
	for id, replies := range all {
		last := replies[len(replies)-1]
		ends := submits(last)
		if limit := len(replies) > stepLimit; limit == ends {
			t.Errorf("%s: %d replies, the last submits: %v", id, len(replies), ends)
		}
		badForm := slices.ContainsFunc(replies, func(r reply) bool { return r.Bash == "" })
		if badForm != (id == "demo__roman-8") {
			t.Errorf("%s: a reply without a call: %v, want the opposite", id, badForm)
		}
		empty := ends && !strings.Contains(last.Bash, "cat ")
		if empty != (id == "demo__wordfreq-7") {
			t.Errorf("%s: submits nothing: %v, want empty %v", id, empty, (id == "demo__wordfreq-7"))
		}
	}
	if len(all["demo__rpn-9"]) <= stepLimit {
		t.Error("demo__rpn-9 should reach the step limit")
	}
	endless := regexp.MustCompile(`^bash bin/retry -n 3 false\n?$`)
	if !slices.ContainsFunc(all["demo__retry-10"], func(r reply) bool { return endless.MatchString(r.Bash) }) {
		t.Error("demo__retry-10 should run the command that never ends")
	}
}
