#!/bin/bash
ls /tests >found.txt 2>/dev/null || echo none >found.txt
