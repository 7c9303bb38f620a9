mock_provider "aws" {
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_ssm_parameter" {
    defaults = { insecure_value = "ami-0123456789abcdef0" }
  }
  mock_data "aws_ec2_instance_type" {
    defaults = { supported_architectures = ["arm64"] }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::locklab-test" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/test" }
  }
  mock_resource "aws_subnet" {
    defaults = { arn = "arn:aws:ec2:ap-northeast-2:123456789012:subnet/subnet-1" }
  }
  mock_resource "aws_ssm_parameter" {
    defaults = { arn = "arn:aws:ssm:ap-northeast-2:123456789012:parameter/locklab/token" }
  }
}

run "three_zones_with_fault_injection" {
  command = apply

  variables {
    topology    = "seoul-3az"
    fis_enabled = true
  }

  assert {
    condition     = length(aws_subnet.zone) == 3 && length(aws_instance.host) == 14
    error_message = "seoul-3az has 14 hosts in three zones"
  }

  assert {
    condition     = length(aws_fis_experiment_template.partition) == 3 && length(aws_fis_experiment_template.stop) == 3
    error_message = "each zone can be cut off and stopped"
  }
}

run "spot" {
  command = plan

  variables {
    spot = true
  }

  assert {
    condition     = alltrue([for host in aws_instance.host : host.instance_market_options[0].market_type == "spot"])
    error_message = "the hosts are on Spot"
  }
}

run "spot_cannot_be_stopped" {
  command = plan

  variables {
    spot        = true
    fis_enabled = true
  }

  expect_failures = [var.fis_enabled]
}

run "unknown_zone" {
  command = plan

  variables {
    host_counts = { worker = { b = 1 } }
  }

  expect_failures = [var.host_counts]
}

run "three_days_at_most" {
  command = plan

  variables {
    max_hours = 100
  }

  expect_failures = [var.max_hours]
}
