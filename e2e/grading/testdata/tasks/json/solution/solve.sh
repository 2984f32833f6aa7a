#!/bin/bash
echo "$WORD" >hello.txt
