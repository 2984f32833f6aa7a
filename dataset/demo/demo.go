// Package demo is a small dataset inside the binary, so that every part of batch can be tried
// without a download or a model.
//
// It is a task repository in the form of SWE-bench 5: sweb.yaml and a folder tasks/ID for each
// instance, with
//
//	task.yaml             instance_id, repo, version, base_commit, split, datasets,
//	                      image, log_parser, eval_type, language, title
//	tests.json            FAIL_TO_PASS and PASS_TO_PASS
//	problem_statement.md  the task that the agent is given
//	gold.patch            the reference solution, exact bytes
//	test.patch            the tests that judge it, exact bytes
//	eval.sh               applies the tests and runs them between the two markers
//	repo/                 the repository at base_commit
//
// The instances are deliberately small and awkward: one has CRLF line ends, one is in ISO-8859-1
// (its patch is not UTF-8), one has a patch of more than 256 KiB, and there are patches with a new
// file, a rename, a deletion, a change of mode and a last line without newline.
//
// scripts/demo-images builds the images that task.yaml names; scripts/demo-verify
// checks each instance in its image. Commits have a fixed author and date and all
// files mode 0644, so base_commit is the same everywhere.
//
// Its API is not promised to other programs: see package batch.
package demo

import (
	"embed"
	"io/fs"
)

// The all: prefix keeps files like __init__.py, which go:embed leaves out otherwise.
//
//go:embed sweb.yaml replies.yaml hasty.yaml all:tasks
var files embed.FS

// Files returns the task repository, sweb.yaml at its root. It is read-only,
// never changes and may be used from many goroutines at once.
//
// Its file replies.yaml has the replies of the scripted model, YAML of the form
//
//	instance_id:
//	  - text of a reply without a tool call
//	  - content: text beside the tool call
//	    bash: command of the one tool call
//	    cost: 0.0031           # US dollars
//	    input_tokens: 1200
//	    output_tokens: 85
//
// Every instance has its own list. The lists fit a step limit of 12 and a command timeout of 10 s:
// seven solve the task (one of them after a reply in the wrong form, one after a command that timed
// out), one submits an incomplete patch, one an empty patch, and one reaches the step limit. The
// file hasty.yaml has the replies of a second model. It edits at once, tests nothing and solves
// five, including two that the first model does not solve.
func Files() fs.FS { return files }
