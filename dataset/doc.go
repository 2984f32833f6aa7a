// Package dataset reads SWE-bench-style rows, selects among them, and names the image of each row.
//
// Rows come from parquet, JSON Lines or JSON files (plain, gzip or zstd), folders and globs of
// them, a Hugging Face dataset, or the embedded demo. A reader returns either all rows or an error
// that names the file and row; it never silently drops or repairs a row. Unknown columns are kept.
//
// A dataset whose README has several configurations is read as load_dataset reads it: the default
// one, or the one that --subset OWNER/NAME/CONFIGURATION names. Files that the README assigns to no
// configuration are not read.
//
// # Your own dataset
//
// You need a private repository, some issues and an image. This command creates three rows from a
// repository's latest commits (without --repo, from an example), the Dockerfile of their image, a
// configuration and a README with the commands:
//
//	batch dataset init my-dataset --repo ~/src/shop --test 'pytest -rA' --log-parser parse_log_pytest
//	cd my-dataset
//	docker build -q -t shop-dataset .
//	batch dataset --subset rows.jsonl
//	batch run --subset rows.jsonl -c config.yaml -m oracle -o runs/oracle
//	batch run --subset rows.jsonl -c config.yaml -m noop -o runs/noop
//	batch dataset fill rows.jsonl -c config.yaml -o runs/fill
//	batch grade --check --subset runs/fill/rows.jsonl -c config.yaml -o runs/check
//
// The oracle submits each row's patch: every instance must end as Submitted. The no-op submits
// nothing. If the oracle fails, then an image, a commit or a patch is wrong, and a model would fail
// for the same reason.
//
// `batch dataset fill` runs the tests before and after each row's patch, and writes a new file of
// the rows with FAIL_TO_PASS and PASS_TO_PASS. The log_parser supplies the names of the tests, so
// they cannot be misspelled. Tests that pass only sometimes are left out and reported. With that
// file, `batch grade --check` must find no broken instance. Nothing leaves the machine except the
// calls of a model: an image that the engine already has is not pulled.
//
// By hand, a dataset is a file with one JSON object per line (rows.jsonl), a JSON list of
// objects, or parquet. These are the columns that batch reads:
//
//	instance_id        required. A text, unique in the file. It names the instance's
//	                   folder in the run directory: no slash, no dot at its beginning.
//	                   SWE-bench writes OWNER__REPO-NUMBER. Rows of R2E-Gym have none, and
//	                   are named REPO_COMMIT by repo_name and commit_hash; rows
//	                   of Multi-SWE-RL are named ORG__REPO-NUMBER.
//	problem_statement  required. The text of the issue. The agent is given this and
//	                   nothing else of the row.
//	base_commit        the commit that the agent begins at. The image's repository must be
//	                   there (or at a commit on top that only sets up the environment),
//	                   if necessary after run.env_startup_command. Without it, nothing is
//	                   compared.
//	repo               OWNER/NAME, for tables. It is not cloned.
//	version            of the repository, for tables and the order of work.
//	image_name         the image that the instance runs in; also docker_image or image.
//	                   Without one, the name is derived from instance_id as SWE-bench
//	                   names its images: sweb.eval.x86_64.ID of docker.io/swebench,
//	                   in lower case, with _1776_ for each __ of the ID.
//	patch              the gold patch, a unified diff. `-m oracle` submits it.
//	test_patch         the diff of the tests that judge a solution.
//	FAIL_TO_PASS       test ids that fail before the gold patch and pass after it.
//	PASS_TO_PASS       test ids that pass before and after. Both are lists of texts, or
//	                   a text that holds such a list in JSON.
//	eval_script        bash that applies test_patch and runs the tests, between the lines
//	                   ">>>>> Start Test Output" and ">>>>> End Test Output".
//	log_parser         how its output is read, such as parse_log_pytest: see below.
//	eval_type          pass_and_fail, or fail_only where only failures are printed.
//	image_assets       {problem_statement: [URL], test_patch: [{path, url}], patch: [...]}, or
//	                   JSON of it: images that the statement shows, which the model is
//	                   shown too, and files that the tests need beside test_patch.
//
// Columns below patch are for grading; an agent never sees them. Grading applies the
// prediction, puts the files of test_patch back to base_commit, runs eval_script in a fresh
// container, and reads what it printed with log_parser. An instance is resolved if all
// tests of FAIL_TO_PASS and PASS_TO_PASS pass. These parsers read the usual test runners:
//
//	pytest -rA                                     parse_log_pytest
//	manage.py test -v 2                            parse_log_django
//	go test -v ./...                               parse_log_gotest
//	cargo test                                     parse_log_cargo
//	npx jest --verbose                             parse_log_jest
//	npx vitest run --reporter=verbose --no-color   parse_log_vitest
//	npx mocha -R tap, node --test --test-reporter=tap   parse_log_tap
//	vendor/bin/phpunit --testdox --colors=never    parse_log_phpunit
//	ctest -V with GoogleTest                       parse_log_googletest
//
// Rows of SWE-bench without these columns take their script and parser from its tables, and rows of
// other datasets from columns of their own: batch help custom-graders lists them. `batch grade
// --eval-script` takes a script instead of the columns, and `--parser` a program that reads the
// output and prints {"test": "PASSED", ...}. `batch grade gold` must resolve every row; `batch
// grade --check` shows which rows it does not resolve, and which rows an empty patch resolves.
//
// Other columns are kept. All columns are variables of run.env_startup_command. Names are
// case-sensitive.
//
// # The image
//
// An image needs bash, git, the repository, and everything that its tests need: containers have no
// network. Two settings say how an image is used:
//
//	environment:
//	  cwd: /testbed    # the repository's folder; this is the default
//	run:
//	  env_startup_command: git checkout -q {{ base_commit }}
//
// The startup command runs in each container before the agent begins, must exit with 0,
// and is a template over the columns of the row. With it, one image serves all rows of a
// repository; without it, build an image for each row, at its base_commit. Later commits
// are hidden from the agent in either case.
//
// An image_name has the form that docker pull takes: NAME, NAME:TAG, registry.example.com/NAME or
// NAME@sha256:DIGEST. An image that the engine has is used as it is, whether or not a registry has
// it; any other is pulled. --image-prefix replaces the registry.
package dataset
