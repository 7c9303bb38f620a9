# terraform test, without an account: AWS is mocked.
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

run "two_zones" {
  command = apply

  assert {
    condition     = length(aws_instance.host) == 16
    error_message = "seoul-2az has 16 hosts"
  }

  assert {
    condition     = aws_subnet.zone["a"].availability_zone == "ap-northeast-2a" && aws_subnet.zone["c"].availability_zone == "ap-northeast-2c"
    error_message = "the zones are 2a and 2c"
  }

  assert {
    condition     = alltrue([for host in aws_instance.host : host.metadata_options[0].http_tokens == "required" && host.root_block_device[0].encrypted])
    error_message = "IMDSv2 and encrypted volumes are required"
  }

  assert {
    condition     = length(aws_fis_experiment_template.partition) == 0
    error_message = "fault injection is off by default"
  }

  assert {
    condition     = length(regexall("agent:", output.topology)) == 16
    error_message = "every host of the topology has its agent"
  }
}
