// Package audit looks in an attempt for signs that its result is not the agent's own work on the
// task: network use, later git history, the gold patch, edits of tests, and others. [Detectors]
// lists the detectors:
//
//	network      a command that reaches another host: curl, pip install, git clone
//	git-history  a command that reads git history after the base commit
//	gold-text    an output with lines of the row's patch or test_patch
//	test-files   an edit of a test file that decides the verdict
//	test-config  an edit of a file that decides how tests run, such as conftest.py
//	startup      an edit of a file that every interpreter reads, such as sitecustomize.py
//	helper       a command that touches process 1, or reaches for the engine
//
// A finding is a place to read. It proves nothing by itself, changes no score, and each detector
// says what its findings do not prove. That nothing is found proves nothing either.
//
// Detectors read commands as a shell does, and follow what they run: scripts and programs that
// the attempt wrote, variables, functions, xargs, and the commands in the strings of a program. A
// word in an argument of echo or grep, or in a file that is not run, is not a command. They prefer
// to miss something over a wrong hit.
//
// The package reads nothing but its arguments. The same arguments have the same findings, in
// the same order.
//
// Its API is not promised to other programs: see package batch.
package audit
