"""Futures: values that nodes promise and others wait for, as servers store, guard and deliver them."""
