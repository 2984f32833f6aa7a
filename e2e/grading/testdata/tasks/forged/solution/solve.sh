#!/bin/bash
touch solved.txt
