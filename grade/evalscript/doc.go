// Package evalscript derives the script that grades an instance from its repository and
// version, for rows that have no eval_script column.
//
// Rows of SWE-bench before version 5 say what to test but not how: the harness looks the commands
// up in a table. Version 5 publishes the resulting script in each row. [Derive] returns that script
// for a row without the column, from the table of version 4.1.0. It covers SWE-bench (all Python
// repositories), SWE-bench_Multilingual and the dev split of SWE-bench_Multimodal; the test split
// of SWE-bench_Multimodal was never in that table, so its rows need the column. It also covers
// SWE-Gym, since its rows have the form of version 4.
//
// For the published rows of SWE-bench_Verified, SWE-bench_Lite, SWE-bench_Multilingual and
// SWE-bench_Multimodal (dev), the derived text equals the published text, except for blanks at its
// ends, and except for four rows with a text that was written by hand:
//
//   - astropy__astropy-8707 also installs pytest<7.2 before the tests;
//   - astropy__astropy-8872 also sets SETUPTOOLS_USE_DISTUTILS=stdlib;
//   - apache__lucene-13170 and fastlane__fastlane-21857 print the markers with echo and keep
//     standard error out of the test output.
//
// Use the column if the row has one.
//
// specs.json is that table, reduced to the parts that matter for grading a prediction, and
// swegym.json the table of SWE-Gym/SWE-Bench-Fork at commit 242429c.
//
// Its API is not promised to other programs: see package batch.
package evalscript
