use strict;
use warnings;
use lib 'lib';
use Rpn;

my $failed = 0;

sub is {
    my ($got, $want, $name) = @_;
    if (defined $got && $got eq $want) {
        print "PASS: $name\n";
        return;
    }
    $failed++;
    print "FAIL: $name\n";
}

sub failure {
    my ($text) = @_;
    eval { Rpn::evaluate($text); 1 } and return 'none';
    return $@ =~ /^([a-z ]+)/ ? $1 : $@;
}

is(Rpn::evaluate('1 2 +'), 3, 'addition');
is(Rpn::evaluate('2 3 4 * +'), 14, 'nested multiplication');
is(Rpn::evaluate('42'), 42, 'a number alone');
exit($failed ? 1 : 0);
