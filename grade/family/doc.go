// Package family knows how to grade a row of each family of datasets: which script tests it, how
// its output is read, and which rule makes a verdict of that.
//
// A family is recognized by the columns of a row, never by the dataset's name, so that a subset or
// a copy is graded like the original:
//
//	columns of the row                          family             what is used
//	eval_script, log_parser                     SWE-bench 5        the columns
//	selected_test_files_to_run                  SWE-bench Pro      run_scripts/ID of its repository
//	fix_patch, f2p_tests                        Multi-SWE-bench    fix-run.sh of the image, a parser of yours
//	expected_output_json                        R2E-Gym            run_tests.sh of the image
//	test_command, F2P                           SWE-PolyBench      the columns
//	test_cmds                                   SWE-bench-Live     the columns; MultiLang: a parser of yours
//	install_config, language                    SWE-rebench V2     the column
//	install_config                              SWE-rebench, SWE-bench-extra   the column
//	image_name of swesmith, no test_patch       SWE-smith          a table of its Python repositories
//	repo of SWE-Gym                             SWE-Gym            its table of commands
//	repo of SWE-bench                           SWE-bench 4        its table of commands
//
// # Your own
//
// A row of your own is graded if it has the columns eval_script, log_parser and, if needed,
// eval_type (batch help row describes them). Instead of the columns, you can give a script and a
// parser (batch grade --eval-script and --parser). The parser is an executable: it reads the output
// of the tests on standard input and prints a JSON object of statuses,
//
//	{"tests/test_cart.py::test_total": "PASSED", "tests/test_cart.py::test_empty": "FAILED"}
//
// with PASSED, FAILED, SKIPPED, ERROR or XFAIL for each test. Its arguments are the
// instance_id and the row's column log_parser (or ""). It runs on this machine, not in the
// container, and must end with exit code 0.
//
// # Verdicts
//
// A family's rule is the rule of its own harness, with two exceptions that can only lower a score:
// a log without any test result resolves nothing, and the markers around the output are required.
// The source files describe the rules.
//
// Its API is not promised to other programs: see package batch.
package family
