// Package audit looks in an attempt for signs that its result is not the agent's own work on the
// task: network use, later git history, the gold patch, edits of tests, and others. [Detectors]
// lists the detectors:
//
//	network          a command that reaches another host: curl, pip install, git clone
//	git-history      a command that reads git history after the base commit
//	gold-text        an output with lines of the row's patch or test_patch
//	test-files       an edit of a test file that decides the verdict
//	test-config      an edit of a file that decides how tests run, such as conftest.py
//	hard-coded       an expected value of the row's tests in product code
//	startup          an edit of a file that every interpreter reads, such as sitecustomize.py
//	helper           a command that touches process 1, which is batch's helper
//	other-instances  a command that reaches for the engine or for other instances
//	task-search      a search for the task's own number or for its upstream fix
//	equal-gold       a patch equal to the gold patch, byte for byte
//
// A finding is a place to read. It proves nothing by itself, changes no score, and each detector
// says what its findings do not prove. Detectors read commands as a shell does: a word in an
// argument of echo or grep, or in a file that a command writes, is not a command. They prefer to
// miss something over a wrong hit.
//
// The package reads nothing but its arguments. The same arguments have the same findings, in
// the same order.
package audit
