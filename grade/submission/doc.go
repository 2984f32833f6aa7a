// Package submission turns a graded run into files for evaluation or publication elsewhere: a
// folder for the SWE-bench leaderboard ([Leaderboard]) and the predictions file of sb-cli
// ([SBCLI]).
//
// # Rules
//
// Both are checked against their rules before anything is written: the Check functions return every
// broken rule and useful notes, and the Write functions refuse a run that breaks a rule. The output
// appears whole or not at all.
//
// # Sources
//
// The folder is an entry of github.com/SWE-bench/experiments, evaluation/SPLIT/DATE_NAME. Its form
// follows the repository's README.md (all_preds.jsonl, metadata.yaml, README.md, logs and trajs;
// reasoning traces with the instance id in their names; Verified and Multilingual only for research
// since 2025-11-18), its checklist.md (one attempt, no FAIL_TO_PASS and PASS_TO_PASS, no hints, no
// look-up of solutions; a report and the authors' names), and the check of entries in its CI
// (info.name, results/results.json, a committed logo, assets that name a place). metadata.yaml has
// the form of entries since 2025: info, tags and assets. Since the middle of 2026 the repository
// keeps entries without artifacts, and assets names the submitter's own repository with
// all_preds.jsonl, logs and trajs: a folder has both parts, and [Metadata.Repo] is that place. An
// entry of Multimodal has only metadata.yaml and README.md, since sb-cli evaluates it.
//
// The predictions file has the form that sb_cli/submit.py of github.com/swe-bench/sb-cli reads
// (process_predictions): instance_id, model_patch and model_name_or_path, one model, no id twice; a
// JSON list in a file named .json, and one object per line in any other file. The subsets come from
// sb_cli/config.py.
package submission
