package Rpn;

# A calculator in reverse Polish notation.

use strict;
use warnings;

my %OPERATOR = (
    '+' => sub { $_[0] + $_[1] },
    '-' => sub { $_[0] - $_[1] },
    '*' => sub { $_[0] * $_[1] },
    '/' => sub { $_[0] / $_[1] },
);

# evaluate returns the value of an expression such as "1 2 + 3 *".
sub evaluate {
    my ($text) = @_;
    my @stack;
    for my $word (split ' ', $text) {
        if (my $operator = $OPERATOR{$word}) {
            my $left  = pop @stack;
            my $right = pop @stack;
            push @stack, $operator->($left, $right);
        } else {
            push @stack, $word;
        }
    }
    return $stack[0];
}

1;
